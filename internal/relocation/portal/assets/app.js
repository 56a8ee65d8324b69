"use strict";
// Everything works without this file: it checks fields while they are typed and keeps the progress up to date.
(() => {
  const problems = document.getElementById("problems");
  if (problems) problems.focus();

  const form = document.querySelector("form[data-live]");
  if (form) {
    const touched = new Set();
    let timer;
    const show = (name, text) => {
      const input = document.getElementById(name), error = document.getElementById(name + "-error");
      if (!input || !error) return;
      const words = text ? "\u2717 " + text : "";
      if (error.textContent !== words) error.textContent = words;
      input.closest(".field").classList.toggle("wrong", !!text);
      if (text) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
    };
    const check = async () => {
      try {
        const r = await fetch("/check", { method: "POST", body: new URLSearchParams(new FormData(form)) });
        if (!r.ok) return;
        const wrong = await r.json();
        for (const name of touched) show(name, wrong[name] || "");
      } catch { /* the server checks again when the form is sent */ }
    };
    form.addEventListener("focusout", (e) => {
      if (!e.target.matches("[data-check]") || (!e.target.value && !touched.has(e.target.name))) return;
      touched.add(e.target.name);
      clearTimeout(timer);
      timer = setTimeout(check, 150);
    });
    form.addEventListener("input", (e) => {
      if (!touched.has(e.target.name)) return;
      clearTimeout(timer);
      timer = setTimeout(check, 500);
    });
    document.querySelectorAll(".field.wrong [name]").forEach((i) => touched.add(i.name));
  }

  const progress = document.querySelector("[data-progress]");
  if (progress) {
    const lost = document.querySelector("[data-lost]"), title = progress.querySelector("[data-title]");
    const poll = async () => {
      try {
        const r = await fetch("/progress.json", { signal: AbortSignal.timeout(5000) });
        if (!r.ok) { location.href = "/"; return; }
        const p = await r.json();
        lost.hidden = true;
        if (p.state !== "Running") { location.href = "/"; return; }
        if (title.textContent !== p.title) title.textContent = p.title;
        if (p.steps) { // none is known before the first
          progress.querySelector("[data-count]").textContent = "Step " + p.step + " of " + p.steps;
          const bar = progress.querySelector("[data-bar]");
          bar.max = p.steps; bar.value = p.step;
        }
      } catch { lost.hidden = false; }
      setTimeout(poll, 2000);
    };
    setTimeout(poll, 1000);
  }

  const once = document.querySelector("form[data-once]");
  if (once) once.addEventListener("submit", () => setTimeout(() => location.reload(), 2000));
})();

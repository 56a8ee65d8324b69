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

  // follow shows how far the node is until it is done. No page is loaded meanwhile: the network of the node changes, and
  // a browser does not try again.
  const follow = (running) => {
    const find = (name) => running.querySelector(name), lost = find("[data-lost]"), title = find("[data-title]");
    const poll = async () => {
      try {
        const r = await fetch("/progress.json", { signal: AbortSignal.timeout(5000) });
        if (!r.ok) throw new Error(r.status);
        if (!r.headers.get("Content-Type").includes("json")) { location.href = "/"; return; } // it asks for the code
        const p = await r.json();
        lost.hidden = true;
        if (p.state !== "Running") { location.href = "/"; return; }
        if (title.textContent !== p.title) title.textContent = p.title;
        if (p.steps) { // none is known before the first
          find("[data-count]").textContent = "Step " + p.step + " of " + p.steps;
          const bar = find("[data-bar]");
          bar.max = p.steps; bar.value = p.step;
        }
      } catch { lost.hidden = false; }
      setTimeout(poll, 2000);
    };
    setTimeout(poll, 1000);
  };
  const running = document.querySelector("[data-running]");
  if (running && !running.hidden) follow(running);

  const start = document.querySelector("form[data-start]");
  if (start) start.addEventListener("submit", async (e) => {
    e.preventDefault();
    start.querySelector("button").disabled = true;
    try {
      const body = new URLSearchParams(new FormData(start));
      const r = await fetch("/start", { method: "POST", body, redirect: "manual", signal: AbortSignal.timeout(10000) });
      if (r.type !== "opaqueredirect") { start.submit(); return; } // it refuses, and says why
    } catch { /* it may have started, and changes its network */ }
    document.querySelector("[data-plan]").hidden = true;
    running.hidden = false;
    document.querySelector("h1").textContent = running.dataset.heading;
    const stages = [...document.querySelectorAll(".steps li")], now = stages.findIndex((s) => s.hasAttribute("aria-current"));
    stages[now].removeAttribute("aria-current");
    stages[now + 1].setAttribute("aria-current", "step");
    document.getElementById("main").focus();
    follow(running);
  });

  const wait = document.querySelector("[data-wait]");
  if (wait) {
    const again = async () => {
      try {
        if ((await fetch("/progress.json", { signal: AbortSignal.timeout(5000) })).ok) { location.href = "/"; return; }
      } catch { /* it does not answer yet */ }
      setTimeout(again, 2000);
    };
    setTimeout(again, 2000);
  }

  const once = document.querySelector("form[data-once]");
  if (once) once.addEventListener("submit", () => setTimeout(() => location.reload(), 2000));
})();

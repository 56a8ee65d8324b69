local hs = { status = "Progressing", message = "No node has reported yet" }
local annotations = obj.metadata.annotations
if annotations ~= nil and annotations["lca.openshift.io/paused"] == "true" then
  return { status = "Suspended", message = "The roll-out is paused by an annotation" }
end
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
local is = {}
for _, c in ipairs(obj.status.conditions) do
  is[c.type] = c
end
for _, kind in ipairs({ "Conflicting", "Degraded" }) do
  if is[kind] ~= nil and is[kind].status == "True" then
    return { status = "Degraded", message = is[kind].message }
  end
end
if is.Accepted ~= nil and is.Accepted.status == "False" then
  return { status = "Degraded", message = is.Accepted.message }
end
if is.Progressing ~= nil and is.Progressing.status == "True" then
  return { status = "Progressing", message = is.Progressing.message }
end
for _, kind in ipairs({ "Available", "Ignored", "Accepted" }) do
  if is[kind] ~= nil and is[kind].status == "True" then
    return { status = "Healthy", message = is[kind].message }
  end
end
return hs

local hs = { status = "Progressing", message = "The operator has not reported yet" }
if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "Waiting until every original is back" }
end
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
local is = {}
local waiting = true
for _, c in ipairs(obj.status.conditions) do
  is[c.type] = c
  if c.observedGeneration ~= nil and obj.metadata.generation ~= nil and c.observedGeneration < obj.metadata.generation
      and c.type == "Ready" then
    hs.message = "The operator has not observed the latest spec yet"
    return hs
  end
  if c.status == "False" and c.type ~= "Ready" and c.type ~= "Reconciled" and c.reason ~= "Waiting" then
    waiting = false
  end
end
if is.Ready ~= nil and is.Ready.status == "False" then
  return { status = "Degraded", message = is.Ready.message }
end
if is.Reconciled == nil then
  return hs
end
hs.message = is.Reconciled.message
if is.Reconciled.status == "True" then
  hs.status = "Healthy"
elseif not waiting then
  hs.status = "Degraded"
end
return hs

local hs = { status = "Progressing", message = "The agent has not reported yet" }
if obj.status == nil or obj.status.conditions == nil or #obj.status.conditions == 0 then
  return hs
end
if obj.status.observedGeneration ~= nil and obj.metadata.generation ~= nil and obj.status.observedGeneration < obj.metadata.generation then
  hs.message = "The agent has not observed the latest spec yet"
  return hs
end
for _, c in ipairs(obj.status.conditions) do
  if c.type == "HubDetached" and c.reason == "NotReattached" then
    return { status = "Degraded", message = c.message }
  end
end
local last = obj.status.conditions[#obj.status.conditions]
hs.message = last.message
if last.type == "SeedGenCompleted" and last.status == "True" then
  hs.status = "Healthy"
elseif last.type == "SeedGenCompleted" or last.reason == "Failed" then
  hs.status = "Degraded"
end
return hs

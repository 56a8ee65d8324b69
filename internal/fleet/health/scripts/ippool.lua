-- metal3's own controller writes no condition, but lastUpdated.
local hs = { status = "Progressing", message = "No controller has reported yet" }
if obj.status == nil then
  return hs
end
for _, c in ipairs(obj.status.conditions or {}) do
  if c.type == "Ready" then
    hs.message = c.message
    if c.status == "True" then
      hs.status = "Healthy"
    elseif c.reason == "Paused" then
      hs.status = "Suspended"
    elseif c.reason ~= "Deleting" then
      hs.status = "Degraded"
    end
    return hs
  end
end
if obj.status.lastUpdated ~= nil then
  return { status = "Healthy", message = "Addresses can be allocated" }
end
return hs

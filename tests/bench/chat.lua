-- wrk: the fixed chat request; body, key and further headers come from the environment.
wrk.method = "POST"
wrk.body = os.getenv("BENCH_BODY")
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer " .. (os.getenv("BENCH_KEY") or "none")
for name, value in string.gmatch(os.getenv("BENCH_HEADERS") or "", "([^:\n]+): *([^\n]+)") do
  wrk.headers[name] = value
end

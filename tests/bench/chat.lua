-- wrk: the fixed chat request; body and key come from the environment.
wrk.method = "POST"
wrk.body = os.getenv("BENCH_BODY")
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer " .. (os.getenv("BENCH_KEY") or "none")

"""The benchmarks: `scripts/bench` lists them."""

"""The benchmarks: `scripts/bench fs|put|search`."""

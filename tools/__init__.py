"""What maintainers run: benchmarks, audits, faults, the preview's report, the toolchain and what installs it."""

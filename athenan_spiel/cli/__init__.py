"""The `athenan` command: one module a subcommand, each with `run(arguments) -> exit code`.

`main` chooses the subcommand and turns errors into lines and exit codes. `parsing` reads a subcommand's options with
tyro. A subcommand prints the library's results. JSON goes to standard output, and only with `--json`; progress and
errors go to standard error.
"""

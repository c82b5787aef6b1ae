"""The `athenan` command: one module per subcommand, each with `run(arguments) -> exit code`.

`main` runs the subcommand and reports errors as lines and exit codes. `parsing` reads the options of a subcommand with
tyro. Subcommands print the results of the library. JSON goes to standard output, and only with `--json`; progress and
errors go to standard error.
"""

"""How games of OpenSpiel are written in UCI: a file for games that are written alike, and the table of them all."""

"""Web pages for games, analyses and runs, drawn by NiceGUI (extra `web`)."""

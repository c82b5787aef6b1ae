"""The board in a browser (extra `web`): what a page shows of a match is here, and NiceGUI draws it."""

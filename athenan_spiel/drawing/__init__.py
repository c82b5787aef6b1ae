"""Pictures of games, as SVG: boards, and what a search thinks of a position."""

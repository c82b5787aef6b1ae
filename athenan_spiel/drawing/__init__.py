"""Pictures of games: boards, what a search thinks of a position, its tree, curves; how a notebook shows them."""

"""Programs that play: how they are talked to (GTP, UCI, AEI), and how an agent of ours is talked to by them."""

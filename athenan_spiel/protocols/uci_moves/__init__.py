"""UCI notation of OpenSpiel's games."""

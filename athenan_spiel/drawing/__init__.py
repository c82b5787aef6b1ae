"""Pictures of boards, search results, search trees and curves, and their display in notebooks."""

"""Facts about each supported game of OpenSpiel, one row per game.

The reasons of transpositions were read in the C++ source of OpenSpiel 2.0.2.
"""

from __future__ import annotations

import dataclasses

from athenan_spiel.games.facts import counts, faults, keys, last_movers, lengths, observations
from athenan_spiel.games.facts.base import Facts, Measure, Transposition
from athenan_spiel.games.facts.keys import CELLS, PLIES, apart, by_fen, merged, merged_by_observation
from athenan_spiel.games.facts.lengths import cut_if_undecided, never_cut

_BY_CASE = ("Black, in small letters", "White, in capital letters")
_BLACK_WHITE = ("Black", "White")
_WHITE_BLACK = ("White", "Black")
_GO = Facts(
    transposition=apart(
        "Two passes in a row end the game, ko forbids a move, and a repeated position (superko) is a draw. The state "
        "shows none of this, and points whose stones were captured can be played again."
    ),
    score=Measure("area by Tromp-Taylor, White's with komi", counts.area),
    pieces=Measure("stones on the board", counts.on_numbered_rows("X", "O")),
    marks=("X", "O"),
    names=_BLACK_WHITE,
    fault=faults.go,
    longest=lengths.go_longest,
)

FACTS = {
    "2048": Facts(
        transposition=merged(
            "Tiles merged by the last move do not merge in the next, and the text does not mark them. The legal moves "
            "of a decision show this difference, and chance states are not merged. The score is not a "
            "function of the tiles. " + PLIES,
            "str(state), the legal moves and the score; the history in a chance state",
            keys.board_of_2048,
            counts_plies=True,
        ),
        score=None,
        pieces=None,
        longest=lengths.declared_longest,
        observation=observations.tiles_observation,
    ),
    "amazons": Facts(
        transposition=merged(
            "Between turns, the board is sufficient. Within a turn of three actions, an amazon has left the board, or"
            " has moved and must still shoot; the phase and the last action identify it.",
            "str(state), the phase of the turn, and within a turn the last action",
            keys.amazons_turn,
        ),
        score=Measure("squares that the amazons reach in any number of moves (Remark 22)", counts.territory),
        pieces=Measure("each player always has four amazons"),
        marks=("X", "O"),
        cut=never_cut,
        observation=observations.amazons_observation,
    ),
    "antichess": Facts(
        transposition=by_fen("As in Chess, without castling."),
        pieces=Measure("chessmen; fewer are better", counts.chessmen),
        marks=_BY_CASE,
        names=_BLACK_WHITE,
    ),
    "backgammon": Facts(
        transposition=Transposition(
            text="str(state) and the number of rolls",
            reason="The text shows the checkers, the bar, the dice, the previous player and whether a double is played "
            "on. After `max_player_turns` turns the game is a draw; a turn has two or three actions, so the rolls are "
            "counted.",
            read=keys.backgammon_turns,
        ),
        score=Measure("the rules define a winner; gammons count in the returns, by `scoring_type`"),
        pieces=Measure("checkers stay, on the board, on the bar or borne off"),
        marks=("x", "o"),
        cut=lengths.undecided,
        observation=observations.backgammon_observation,
        last_mover=last_movers.backgammon,
    ),
    "banqi": Facts(
        transposition=Transposition(
            reason="The text shows the board, the mover and the colours. The history shows which pieces are face down, "
            "the plies since a capture or a turned piece (`max_no_progress` make a draw) and the piece that chance "
            "turns.",
            text="str(state), the pieces face down, the plies without progress, and the piece being turned",
            read=lambda game: keys.banqi_reveals,
            end=lambda game: keys.banqi_reveals,
        ),
        pieces=Measure("pieces of both colours, face down ones included", counts.banqi_pieces),
        cut=never_cut,
        observation=observations.banqi_observation,
        last_mover=last_movers.printed,
    ),
    "breakthrough": Facts(
        transposition=merged(CELLS),
        pieces=Measure("pawns", counts.pawns),
        marks=("b", "w"),
        names=_BLACK_WHITE,
        cut=never_cut,
    ),
    "catch": Facts(
        transposition=merged("The text shows the ball and the paddle, and is empty before the only outcome."),
        score=None,
        pieces=None,
        planes=observations.catch_planes,
        cut=never_cut,
    ),
    "checkers": Facts(
        transposition=merged(
            "Besides the board, the rules use the plies since a capture (40 make a draw), which the history shows, "
            "and the piece that must continue to jump, which the legal actions show right after a capture.",
            "str(state), the plies since a capture, and right after one the legal actions",
            keys.checkers_captures,
        ),
        pieces=Measure("men and kings", counts.on_numbered_rows("o8", "+*")),
        marks=("o, crowned 8", "+, crowned *"),
        names=_WHITE_BLACK,
        fault=faults.checkers,
        cut=cut_if_undecided,
    ),
    "chess": Facts(
        transposition=by_fen(
            "The FEN contains everything except the earlier positions, which matter if one recurs. None can recur "
            "right after a capture or a pawn's move; at other plies, histories are not merged."
        ),
        pieces=Measure("chessmen, the king included", counts.chessmen),
        marks=_BY_CASE,
        names=_BLACK_WHITE,
    ),
    "chinese_checkers": Facts(
        transposition=merged(
            "Besides the board, the rules use the number of turns (`max_moves` make a draw), which differs from the "
            "ply as each hop is an action, and the cells that the hops of this turn passed, which are forbidden.",
            "str(state), the number of turns, and the actions of an unfinished turn",
            keys.chinese_checkers_hops,
        ),
        marks=("1", "2", "3", "4", "5", "6"),
        names=("Red", "Blue", "Green", "Yellow", "Violet", "Black"),
        cut=lengths.undecided,
    ),
    "cliff_walking": Facts(
        transposition=merged(
            "The text shows where the player stands. An unfinished game has cost one point per ply. " + PLIES,
            counts_plies=True,
        ),
        score=None,
        pieces=None,
        note="its observation does not show how many steps are left",
    ),
    "clobber": Facts(
        transposition=merged(CELLS),
        pieces=Measure("stones", counts.on_numbered_rows("o", "x")),
        marks=("o", "x"),
        names=_WHITE_BLACK,
        cut=never_cut,
    ),
    "connect_four": Facts(
        transposition=merged(CELLS),
        marks=("x", "o"),
        names=("Red", "Yellow"),
        fault=faults.at_least("x_in_row", 1),  # 0 has the same effect as 1: the first stone wins
        cut=never_cut,
    ),
    "crazyhouse": Facts(
        transposition=apart(
            "A position that occurs three times is a draw. Captured pieces are dropped again, so any earlier position "
            "may recur, and the state does not show them."
        ),
        pieces=Measure("chessmen on the board and in hand, the king included", counts.chessmen),
        marks=_BY_CASE,
        names=_BLACK_WHITE,
        # Captured pieces are put into the pocket one by one, `insanity` of them: a loop without end for large values.
        fault=faults.at_most("insanity", 1000),
    ),
    "cursor_go": dataclasses.replace(_GO, transposition=apart("As Go.")),
    "dots_and_boxes": Facts(
        transposition=merged_by_observation(
            "The rules depend on the lines, the owners of the boxes and the mover. The text is the observation, which"
            " shows who drew each line; the printed board does not."
        ),
        score=Measure("boxes closed", counts.boxes),
        pieces=Measure("lines and boxes stay; boxes are the score"),
        names=("Red", "Blue"),
        longest=lengths.dots_and_boxes_longest,
        cut=never_cut,
    ),
    "einstein_wurfelt_nicht": Facts(
        transposition=merged(
            "The text shows the cubes, but not the roll, of which only the legal moves matter. The players alternate, "
            "so the last mover determines who rolls.",
            "str(state) and the legal moves; in a chance state, str(state) and the player who moved last",
            keys.einstein_cubes,
        ),
        pieces=Measure("cubes", counts.on_all("b", "w")),
        marks=("b", "w"),
        names=_BLACK_WHITE,
        cut=never_cut,
        observation=observations.einstein_observation,
        last_mover=last_movers.einstein,
    ),
    "go": _GO,
    "gomoku": Facts(
        transposition=merged_by_observation(
            "The observation shows every stone and the mover, and the rules depend on nothing else. It is faster to "
            "read than the printed board."
        ),
        marks=("b", "w"),
        names=_BLACK_WHITE,
        fault=faults.gomoku,
        planes=observations.gomoku_planes,
        cut=never_cut,
    ),
    "havannah": Facts(
        transposition=merged_by_observation(
            "The observation shows every stone, which determines groups, edges and corners. The last move, which the "
            "printed board marks, matters only for the swap, and is then the only stone."
        ),
        marks=("O", "@"),
        names=_BLACK_WHITE,
        # Its cells are numbered with 16 bits and its columns named by one character: beyond 90 it crashes.
        fault=faults.at_most("board_size", 16),
        cut=never_cut,
    ),
    "hex": Facts(
        transposition=dataclasses.replace(
            merged(
                "The text shows every stone, which determines the stones linked to an edge. The swap is possible only"
                " if one black stone is on the board and White is to move."
            ),
            end=keys.observed,  # which marks the last stone of a winning line
        ),
        marks=("x", "o"),
        names=("Red", "Blue"),
        fault=faults.hex_board,
        longest=lengths.hex_longest,
        planes=observations.hex_planes,
        sides=observations.hex_sides,
        cut=never_cut,
    ),
    "hive": Facts(
        transposition=apart(
            "A pillbug must not move the tile that moved last, and the printed state is the list of moves."
        ),
        marks=("White, w", "Black, b"),
        names=_WHITE_BLACK,
        # Beyond 14 the board stays as it is while the observation's declared shape grows.
        fault=faults.at_most("board_size", 14),
        cut=cut_if_undecided,
    ),
    "lines_of_action": Facts(
        transposition=merged(
            "A repeated position is a draw. Captured pieces do not come back, so only positions since the last "
            "capture can recur; the moves since then determine them. " + PLIES,
            "str(state) and the actions since the last capture",
            keys.lines_of_action_captures,
            counts_plies=True,
        ),
        pieces=Measure("pieces", counts.on_numbered_rows("x", "o")),
        marks=("x", "o"),
        names=_BLACK_WHITE,
        cut=cut_if_undecided,
    ),
    "maedn": Facts(
        transposition=merged(
            "The text shows the board, the dice and the mover. Before a roll, the rules use the last mover and the "
            "last roll only to decide who rolls; the key contains the result.",
            "str(state); in a chance state, str(state) and the player who rolls",
            keys.maedn_dice,
        ),
        marks=("1", "2", "3", "4"),
        names=("Red", "Blue", "Green", "Yellow"),
        return_bounds=lambda game: (-1.0, game.num_players() - 1.0),  # OpenSpiel's are those of four players
        cut=never_cut,
        observation=observations.maedn_observation,
        last_mover=last_movers.maedn,
    ),
    "mancala": Facts(
        transposition=merged(
            "The text shows every pit, the mover and the number of the move. " + PLIES, counts_plies=True
        ),
        score=Measure("seeds in the player's store and pits", counts.mancala_seeds),
        pieces=Measure("seeds belong to no player; they are the score"),
    ),
    "mnk": Facts(
        transposition=merged(CELLS),
        marks=("x", "o"),
        fault=faults.at_least("k", 1),  # as in Connect Four
        cut=never_cut,
    ),
    "morpion_solitaire": Facts(
        transposition=merged(
            "An action is a line. The points are the first ones and those of the drawn lines. The possible lines "
            "depend on points and lines, and the score is the number of lines, so their order does not matter.",
            "the actions played, sorted",
            keys.sorted_history,
        ),
        score=None,
        pieces=None,
        lasting=True,
        observation=observations.morpion_observation,
        cut=never_cut,
    ),
    "nim": Facts(
        transposition=merged("The rules depend on the piles and the mover, and the text shows both."),
        pieces=Measure("the piles belong to no player"),
        fault=faults.nim,
        cut=never_cut,
    ),
    "nine_mens_morris": Facts(
        transposition=merged(
            "The text shows the points, the mover, the men to be placed, the number of the turn (200 make a draw) and "
            "whether a capture is due. There is no repetition rule."
        ),
        pieces=Measure("men on the board and still to be placed", counts.men),
        marks=("W", "B"),
        names=_WHITE_BLACK,
        cut=lengths.nine_mens_morris_cut,
        observation=observations.nine_mens_morris_observation,
    ),
    "othello": Facts(
        transposition=merged(
            "The rules depend on the board and the mover, and the text shows both. A pass has no later effect."
        ),
        score=Measure("discs", counts.discs),
        pieces=Measure("discs", counts.on_numbered_rows("x", "o")),
        marks=("x", "o"),
        names=_BLACK_WHITE,
        any_position="Turning the board by 90° or flipping it exchanges the colours of the first four discs, so the "
        "initial position is not its own image. The rules depend only on the discs and the mover.",
        cut=never_cut,
    ),
    "oware": Facts(
        transposition=apart(
            "A repeated position ends the game. Positions since the last capture count, and neither the state nor the"
            " actions show when it was."
        ),
        score=Measure("seeds captured", counts.oware_seeds),
        pieces=Measure("seeds belong to no player; they are the score"),
    ),
    "pentago": Facts(
        transposition=merged("The rules depend only on the board and the mover. Stone and rotation are one action."),
        marks=("O", "@"),
        names=_BLACK_WHITE,
        cut=never_cut,
    ),
    "pig": Facts(
        transposition=Transposition(
            text="str(state) and the number of decisions",
            reason="The text shows the scores, the turn total, and the player who moves or rolls. After `horizon` "
            "decisions the game is a draw.",
            read=keys.pig_moves,
        ),
        score=Measure("points banked", counts.pig_points),
        pieces=Measure("there are no pieces"),
        cut=lengths.undecided,
        last_mover=last_movers.printed,
    ),
    "quoridor": Facts(
        transposition=merged("The text shows pawns, walls and walls in hand. " + PLIES, counts_plies=True),
        pieces=Measure("each player always has one pawn"),
        marks=("0", "@", "#", "%"),
        names=("Black", "White", "Red", "Blue"),
        note="OpenSpiel warns of faults in its Quoridor",
        fault=faults.quoridor,
        cut=cut_if_undecided,
        observation=observations.quoridor_observation,
    ),
    "shogi": Facts(
        transposition=apart(
            "A position that occurs four times ends the game, as a loss for a player who gave perpetual check. "
            "Captured pieces are dropped again, so any earlier position may recur, and the state does not show them."
        ),
        pieces=Measure("pieces on the board and in hand", counts.shogi_pieces),
        marks=("Black, in capital letters", "White, in small letters"),
        names=_BLACK_WHITE,
    ),
    "stones_and_gems": Facts(
        transposition=Transposition(
            text="the serialised state without the numbers of the elements",
            reason="The serialised state contains all that the rules read, such as falling stones, which the text does "
            "not show. Its numbers of elements matter only for observations with `obs_show_ids`.",
            read=keys.stones_and_gems_grid,
        ),
        score=None,
        pieces=None,
        note="its observation shows neither the steps left nor which stones fall; a serialised state has no history",
        fault=faults.stones_and_gems,
        observation=observations.stones_and_gems_observation,
    ),
    "tic_tac_toe": Facts(transposition=merged(CELLS), marks=("x", "o"), cut=never_cut),
    "twixt": Facts(
        transposition=merged_by_observation(
            "The observation shows pegs, links and blocked links, which determine the rest. The links depend on the "
            "order of the pegs. The swap is possible only if one red peg is on the board."
        ),
        marks=("x", "o"),
        names=("Red", "Blue"),
        process_fault=faults.twixt_in_process,
        cut=never_cut,
    ),
    "ultimate_tic_tac_toe": Facts(
        transposition=merged("The text shows the nine boards, the mover and the board to play in."),
        marks=("x", "o"),
        cut=never_cut,
        observation=observations.ultimate_tic_tac_toe_observation,
    ),
    "xiangqi": Facts(
        transposition=merged(
            "OpenSpiel's rules depend on the board and the mover, not on repetition. " + PLIES, counts_plies=True
        ),
        pieces=Measure("pieces, the general included", counts.xiangqi_pieces),
        marks=("Red, in capital letters", "Black, in small letters"),
        names=("Red", "Black"),
        cut=cut_if_undecided,
    ),
    "y": Facts(
        transposition=merged_by_observation(
            "The observation shows every stone, which determines groups and edges. The last move, which the printed "
            "board marks, does not matter."
        ),
        marks=("O", "@"),
        names=_BLACK_WHITE,
        fault=faults.at_most("board_size", 31),  # as in Havannah: beyond 181 it crashes
        cut=never_cut,
    ),
    "yacht": Facts(
        transposition=Transposition(
            text="str(state), without dice that are rolled again, and with sorted dice if they are scored",
            reason="The text shows the dice, the number of rolls, the player and all points. The action before a "
            "chance state names the dice that are rolled again, whose old values do not matter. Once dice must be "
            "scored, their order does not matter.",
            read=keys.yacht_dice,
        ),
        score=Measure("points in all categories", counts.yacht_points, fixed_turns=True),
        pieces=Measure("there are no pieces"),
        cut=never_cut,
        observation=observations.yacht_observation,
        last_mover=last_movers.yacht,
    ),
}
"""Facts by the short names of games: all games of OpenSpiel that are supported."""

"""File formats of other programs: PGN, TRF, TDE, OpenGotha, TOML."""

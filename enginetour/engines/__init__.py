"""What an engine is, and how it is started, spoken to in UCI or CECP, confined and ended."""

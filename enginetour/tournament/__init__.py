"""Configuration, plan, scheduler, executors, control socket and notices of a tournament."""

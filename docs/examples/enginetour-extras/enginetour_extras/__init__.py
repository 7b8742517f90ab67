"""Three plug-ins for enginetour: a rating system, a notifier and a reader of opening books."""

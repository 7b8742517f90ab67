CREATE TABLE editions (
	id BIGSERIAL NOT NULL, 
	list VARCHAR COLLATE "C" NOT NULL, 
	number BIGINT NOT NULL, 
	revision BIGINT NOT NULL, 
	made FLOAT NOT NULL, 
	last_game BIGINT NOT NULL, 
	last_imported BIGINT NOT NULL, 
	games BIGINT NOT NULL, 
	residual FLOAT NOT NULL, 
	story VARCHAR COLLATE "C" NOT NULL, 
	note VARCHAR COLLATE "C" NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (list, number)
);
CREATE TABLE engines (
	id BIGSERIAL NOT NULL, 
	name VARCHAR COLLATE "C" NOT NULL, 
	fingerprint VARCHAR COLLATE "C" NOT NULL, 
	options VARCHAR COLLATE "C" NOT NULL, 
	protocol VARCHAR COLLATE "C" NOT NULL, 
	own_name VARCHAR COLLATE "C" NOT NULL, 
	family VARCHAR COLLATE "C" NOT NULL, 
	origin VARCHAR COLLATE "C" NOT NULL, 
	command VARCHAR COLLATE "C" NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name, fingerprint, options, protocol)
);
CREATE TABLE lists (
	name VARCHAR COLLATE "C" NOT NULL, 
	revision BIGINT NOT NULL, 
	definition VARCHAR COLLATE "C" NOT NULL, 
	why VARCHAR COLLATE "C" NOT NULL, 
	made FLOAT NOT NULL, 
	PRIMARY KEY (name, revision)
);
CREATE TABLE rating_revisions (
	system VARCHAR COLLATE "C" NOT NULL, 
	revision BIGINT NOT NULL, 
	start BIGINT NOT NULL, 
	settings VARCHAR COLLATE "C" NOT NULL, 
	why VARCHAR COLLATE "C" NOT NULL, 
	made FLOAT NOT NULL, 
	PRIMARY KEY (system, revision)
);
CREATE TABLE tournaments (
	id BIGSERIAL NOT NULL, 
	name VARCHAR COLLATE "C" NOT NULL, 
	edition BIGINT NOT NULL, 
	slug VARCHAR COLLATE "C" NOT NULL, 
	system VARCHAR COLLATE "C" NOT NULL, 
	format_version BIGINT NOT NULL, 
	config VARCHAR COLLATE "C" NOT NULL, 
	seed BIGINT NOT NULL, 
	created FLOAT NOT NULL, 
	version VARCHAR COLLATE "C" NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name, edition), 
	UNIQUE (slug)
);
CREATE TABLE edition_lines (
	edition BIGINT NOT NULL, 
	ordinal BIGINT NOT NULL, 
	pool BIGINT NOT NULL, 
	rank BIGINT NOT NULL, 
	name VARCHAR COLLATE "C" NOT NULL, 
	rating FLOAT NOT NULL, 
	plus FLOAT, 
	minus FLOAT, 
	games BIGINT NOT NULL, 
	wins BIGINT NOT NULL, 
	draws BIGINT NOT NULL, 
	losses BIGINT NOT NULL, 
	opponents FLOAT NOT NULL, 
	performance FLOAT, 
	los FLOAT, 
	difference FLOAT, 
	remarks VARCHAR COLLATE "C" NOT NULL, 
	PRIMARY KEY (edition, ordinal), 
	FOREIGN KEY(edition) REFERENCES editions (id)
);
CREATE TABLE entrants (
	tournament BIGINT NOT NULL, 
	name VARCHAR COLLATE "C" NOT NULL, 
	since BIGINT NOT NULL, 
	place BIGINT NOT NULL, 
	engine BIGINT NOT NULL, 
	"new" BOOLEAN NOT NULL, 
	rating FLOAT, 
	family VARCHAR COLLATE "C" NOT NULL, 
	origin VARCHAR COLLATE "C" NOT NULL, 
	spec VARCHAR COLLATE "C" NOT NULL, 
	PRIMARY KEY (tournament, name, since), 
	FOREIGN KEY(tournament) REFERENCES tournaments (id), 
	FOREIGN KEY(engine) REFERENCES engines (id)
);
CREATE TABLE games (
	id BIGSERIAL NOT NULL, 
	tournament BIGINT NOT NULL, 
	number BIGINT NOT NULL, 
	a VARCHAR COLLATE "C" NOT NULL, 
	b VARCHAR COLLATE "C" NOT NULL, 
	white VARCHAR COLLATE "C" NOT NULL, 
	black VARCHAR COLLATE "C" NOT NULL, 
	white_engine BIGINT NOT NULL, 
	black_engine BIGINT NOT NULL, 
	meeting BIGINT NOT NULL, 
	leg BIGINT NOT NULL, 
	encounter BIGINT NOT NULL, 
	round BIGINT NOT NULL, 
	replay BIGINT NOT NULL, 
	outcome VARCHAR COLLATE "C" NOT NULL, 
	termination VARCHAR COLLATE "C" NOT NULL, 
	cause VARCHAR COLLATE "C" NOT NULL, 
	culprit VARCHAR COLLATE "C" NOT NULL, 
	category VARCHAR COLLATE "C" NOT NULL, 
	plies BIGINT NOT NULL, 
	opening VARCHAR COLLATE "C" NOT NULL, 
	white_side VARCHAR COLLATE "C" NOT NULL, 
	black_side VARCHAR COLLATE "C" NOT NULL, 
	white_tc VARCHAR COLLATE "C" NOT NULL, 
	black_tc VARCHAR COLLATE "C" NOT NULL, 
	final_fen VARCHAR COLLATE "C" NOT NULL, 
	started FLOAT NOT NULL, 
	ended FLOAT NOT NULL, 
	relay VARCHAR COLLATE "C" NOT NULL, 
	hardware VARCHAR COLLATE "C" DEFAULT '' NOT NULL, 
	handicap BIGINT DEFAULT '0' NOT NULL, 
	load FLOAT, 
	cores BIGINT, 
	steal FLOAT, 
	own_us BIGINT, 
	PRIMARY KEY (id), 
	UNIQUE (tournament, a, b, meeting, leg, replay), 
	UNIQUE (tournament, number), 
	FOREIGN KEY(tournament) REFERENCES tournaments (id), 
	FOREIGN KEY(white_engine) REFERENCES engines (id), 
	FOREIGN KEY(black_engine) REFERENCES engines (id)
);
CREATE INDEX games_odds ON games (tournament) WHERE handicap != 0;
CREATE TABLE imported_games (
	id BIGSERIAL NOT NULL, 
	tournament BIGINT NOT NULL, 
	white BIGINT NOT NULL, 
	black BIGINT NOT NULL, 
	half_points BIGINT NOT NULL, 
	day BIGINT NOT NULL, 
	tc VARCHAR COLLATE "C" NOT NULL, 
	file BIGINT NOT NULL, 
	"offset" BIGINT NOT NULL, 
	black_tc VARCHAR COLLATE "C" DEFAULT '' NOT NULL, 
	handicap BIGINT DEFAULT '0', 
	opening BIGINT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(tournament) REFERENCES tournaments (id), 
	FOREIGN KEY(white) REFERENCES engines (id), 
	FOREIGN KEY(black) REFERENCES engines (id)
);
CREATE TABLE imports (
	tournament BIGINT NOT NULL, 
	files VARCHAR COLLATE "C" NOT NULL, 
	after_game BIGINT NOT NULL, 
	games BIGINT NOT NULL, 
	duplicates BIGINT NOT NULL, 
	counts BYTEA NOT NULL, 
	digests BYTEA NOT NULL, 
	odds BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (tournament), 
	FOREIGN KEY(tournament) REFERENCES tournaments (id)
);
CREATE TABLE notes (
	tournament BIGINT NOT NULL, 
	position BIGINT NOT NULL, 
	ordinal BIGINT NOT NULL, 
	kind VARCHAR COLLATE "C" NOT NULL, 
	text VARCHAR COLLATE "C" NOT NULL, 
	fields VARCHAR COLLATE "C" NOT NULL, 
	PRIMARY KEY (tournament, position, ordinal), 
	FOREIGN KEY(tournament) REFERENCES tournaments (id)
);
CREATE TABLE pair_counts (
	tournament BIGINT NOT NULL, 
	white BIGINT NOT NULL, 
	black BIGINT NOT NULL, 
	wins BIGINT NOT NULL, 
	draws BIGINT NOT NULL, 
	losses BIGINT NOT NULL, 
	PRIMARY KEY (tournament, white, black), 
	FOREIGN KEY(tournament) REFERENCES tournaments (id), 
	FOREIGN KEY(white) REFERENCES engines (id), 
	FOREIGN KEY(black) REFERENCES engines (id)
);
CREATE TABLE events (
	tournament BIGINT NOT NULL, 
	position BIGINT NOT NULL, 
	kind VARCHAR COLLATE "C" NOT NULL, 
	game BIGINT, 
	payload VARCHAR COLLATE "C" NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (tournament, position), 
	FOREIGN KEY(tournament) REFERENCES tournaments (id), 
	FOREIGN KEY(game) REFERENCES games (id)
);
CREATE INDEX events_game ON events (game, kind);
CREATE TABLE incidents (
	game BIGINT NOT NULL, 
	ordinal BIGINT NOT NULL, 
	engine VARCHAR COLLATE "C" NOT NULL, 
	category VARCHAR COLLATE "C" NOT NULL, 
	cause VARCHAR COLLATE "C" NOT NULL, 
	ply BIGINT NOT NULL, 
	traffic VARCHAR COLLATE "C" NOT NULL, 
	stderr VARCHAR COLLATE "C" NOT NULL, 
	status VARCHAR COLLATE "C" DEFAULT '' NOT NULL, 
	load FLOAT, 
	asked_us BIGINT, 
	memory_kb BIGINT, 
	own_us BIGINT, 
	PRIMARY KEY (game, ordinal), 
	FOREIGN KEY(game) REFERENCES games (id)
);
CREATE TABLE moves (
	game BIGINT NOT NULL, 
	moves BYTEA NOT NULL, 
	PRIMARY KEY (game), 
	FOREIGN KEY(game) REFERENCES games (id)
);
CREATE TABLE rating_events (
	system VARCHAR COLLATE "C" NOT NULL, 
	revision BIGINT NOT NULL, 
	place BIGINT NOT NULL, 
	engine BIGINT NOT NULL, 
	tournament BIGINT NOT NULL, 
	game BIGINT, 
	before FLOAT NOT NULL, 
	change FLOAT NOT NULL, 
	after FLOAT NOT NULL, 
	weight FLOAT NOT NULL, 
	games BIGINT NOT NULL, 
	imported BIGINT, 
	PRIMARY KEY (system, revision, place), 
	FOREIGN KEY(engine) REFERENCES engines (id), 
	FOREIGN KEY(tournament) REFERENCES tournaments (id), 
	FOREIGN KEY(game) REFERENCES games (id), 
	FOREIGN KEY(imported) REFERENCES imported_games (id)
);

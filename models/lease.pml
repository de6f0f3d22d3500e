/*
 * Claim, renew, steal and fence: how servers share partitions on PostgreSQL. models/run checks it;
 * docs/lease-model.md says which code each step stands for.
 *
 * One partition with one item, and two owners. An owner has two sessions: the control lane, which
 * scans, and the lane that writes for the partition. What stands in one atomic { } happens at once
 * in the database. Between any two of them a process may wait for any time. So a paused owner
 * (SIGSTOP), a slow network and a death need no code of their own.
 *
 * Switches:
 *   NO_FENCE           a batch reads the token but locks nothing. Two owners then write.
 *   CHECK_BEFORE_LOCK  a batch reads the token, and then locks. Just as wrong.
 *   CLIENT_CLOCK       a claim uses the claimer's own clock. It may steal early, and all is well.
 *   TAKEOVER           owner 1 dies for good; for the formula at the end.
 *   NO_IDLE_LIMIT      the database never ends a transaction by itself: a lock may stay for ever.
 *   PROPERTIES=n       which assertions count: the sum of FRESH, ORDERED and ONCE.
 *   WITNESS=name       the step of that name fails, which shows that it can be reached.
 *   TOKENS=n           how many claims there are at most.
 */

#ifndef TOKENS
#define TOKENS 3
#endif

#define FRESH 1
#define ORDERED 2
#define ONCE 4
#ifndef PROPERTIES
#define PROPERTIES (FRESH + ORDERED + ONCE)
#endif
#define demand(property, condition) assert((PROPERTIES & property) == 0 || (condition))

/* Were one of these out of reach, the model could be safe for the wrong reason. */
#define BOTH_WRITE 1
#define STALE_DROP 2
#define STEAL_IN_PAUSE 3
#define LOCKED_SKIP 4
#define COMMIT_AFTER_EXPIRY 5
#define OLDER_TOKEN_OF_OURS 6
#define CLAIM_UNKNOWN 7
#define EARLY_STEAL 8
#define WRITE_WHEN_FREED 9
#ifndef WITNESS
#define WITNESS 0
#endif
#define witness(name) assert(WITNESS != name)

#define OWNERS 2
#define NOBODY 0
#define other(owner) (OWNERS + 1 - (owner))

/* The sessions, by number. Sessions hold transactions and locks; owners do not. */
#define control(owner) (owner)
#define lane(owner) ((owner) + OWNERS)

/* Begun: BEGIN and a first statement. Ended: rolled back by the server, and the client does not
   know it yet. */
mtype = { Idle, Begun, Ended };
mtype = { Write, Complete, Release };

/* In the database. What a transaction changes comes here with its COMMIT, so there is no undo. */
byte row_owner = NOBODY;
byte row_token = 0;
byte row_lock = 0;                /* the session that has locked the partition's row; 0: none */
bool live[OWNERS + 1] = true;     /* the owner's row names a time that has not come yet */
mtype tx[2 * OWNERS + 1] = Idle;  /* by session */
byte completions = 0;             /* of the item */

/* In the memory of each owner. */
byte believed[OWNERS + 1];        /* the token of the partition it takes for its own; 0: none */
bool item_done[OWNERS + 1];       /* as read after the claim, and as answered since */
byte op_token[OWNERS + 1];        /* of the operation in the lane or waiting for it; 0: none */
mtype op[OWNERS + 1] = Write;

/* For the assertions. */
byte last_token = 0;              /* of the last write that was committed */
#if WITNESS == BOTH_WRITE
byte last_writer = NOBODY;
#endif

/* For TAKEOVER. The processes of owner 1 are started last, so they have the highest numbers. */
bool dead = false;
byte first_mortal = 255;
#define alive (!dead || _pid < first_mortal)

#ifdef NO_IDLE_LIMIT
#define may_end(owner) false
#else
#ifdef TAKEOVER
/* Nobody could promise progress to an owner whose every transaction is ended. */
#define may_end(owner) (dead && owner == 1)
#else
#define may_end(owner) true
#endif
#endif

#ifdef CLIENT_CLOCK
/* A clock that is far enough ahead takes any lease for expired. One that is behind steals later. */
#define expired(owner) true
#else
#define expired(owner) (!live[owner])
#endif
#define claimable(me) \
  (row_token < TOKENS && (row_owner == NOBODY || (row_owner != me && expired(row_owner))))

inline end_tx(session) {
  if
  :: row_lock == session -> row_lock = 0
  :: else
  fi;
  tx[session] = Idle
}

/* The time of the database passes the end of a lease. */
proctype Clock(byte owner) {
end:
  do
  :: atomic {
       live[owner] ->
       live[owner] = false;
       printf("the lease of owner %d ends\n", owner)
     }
  od
}

/* A lost renewal is one that does not come; a late one comes after the end of the lease. An owner
   whose row has expired renews like any other. */
proctype Renewer(byte me) provided (alive) {
end:
  do
  :: atomic {
       !live[me] ->
       live[me] = true;
       printf("owner %d renews its lease\n", me)
     }
  od
}

inline end_early(session) {
  printf("the database ends the transaction of session %d, owner %d\n", session, owner);
  end_tx(session);
  tx[session] = Ended
}

/* The database ends a transaction: it was idle for too long, or its connection broke. At any time,
   because safety must not rest on how long that takes. */
proctype Server(byte owner) {
end:
  do
  :: atomic { tx[control(owner)] == Begun && may_end(owner) -> end_early(control(owner)) }
  :: atomic { tx[lane(owner)] == Begun && may_end(owner) -> end_early(lane(owner)) }
  od
}

inline commit_scan(me) {
  if
  /* It takes the partition away, and leaves it to others to claim it. */
  :: row_owner != NOBODY ->
     printf("owner %d frees the partition of owner %d\n", me, row_owner);
     row_owner = NOBODY
  :: true ->
     if
     :: row_owner != NOBODY && op_token[row_owner] == row_token -> witness(STEAL_IN_PAUSE)
     :: else
     fi;
     if
     :: row_owner != NOBODY && live[row_owner] -> witness(EARLY_STEAL)
     :: else
     fi;
     row_owner = me;
     row_token++;
     got = row_token;
     printf("owner %d claims the partition: token %d\n", me, got)
  fi
}

/* Scans: in one transaction, partitions of expired owners are freed, and free ones claimed. */
proctype Owner(byte me) provided (alive) {
  byte got;  /* the token of a claim that was committed */

end:
  do
  /* A row that somebody has locked is skipped, not waited for. */
  :: atomic { claimable(me) && row_lock == lane(other(me)) -> witness(LOCKED_SKIP) }
  :: atomic {
       claimable(me) && row_lock == 0 ->
       row_lock = control(me);
       tx[control(me)] = Begun;
       printf("owner %d begins a scan and locks the row\n", me)
     }
     atomic {
       if
       :: tx[control(me)] == Begun -> commit_scan(me)
       :: else
       fi;
       end_tx(control(me))
     }
     /* The answer, or what was looked up where the answer was lost. */
     atomic {
       if
       :: got != 0 ->
          believed[me] = got;
          item_done[me] = (completions > 0);
          printf("owner %d knows that it has token %d\n", me, got)
       :: got != 0 ->
          witness(CLAIM_UNKNOWN)  /* the database stays away: who knows nothing believes nothing */
       :: got == 0
       fi;
       got = 0
     }

  /* Its own row was gone, so it registers anew, with empty hands. */
  :: atomic {
       believed[me] != 0 ->
       believed[me] = 0;
       printf("owner %d forgets its partition\n", me)
     }

  /* A clean stop frees what is still in its name, and asks for no token. */
  :: atomic {
       row_owner == me && row_lock == 0 && believed[me] == 0 && op_token[me] == 0 ->
       row_owner = NOBODY;
       printf("owner %d gives up its name\n", me)
     }
  od
}

inline commit_write(me) {
  printf("owner %d commits a write with token %d\n", me, op_token[me]);
  if
  :: !live[me] && row_owner == me -> witness(COMMIT_AFTER_EXPIRY)
  :: row_owner == NOBODY -> witness(WRITE_WHEN_FREED)
  :: else
  fi;
#if WITNESS == BOTH_WRITE
  if
  :: last_writer == other(me) -> witness(BOTH_WRITE)
  :: else
  fi;
  last_writer = me;
#endif
  /* Nobody has claimed the partition since the writer did. */
  demand(FRESH, op_token[me] == row_token);
  /* The writes of one token lie together, before those of the next: owners never interleave. */
  demand(ORDERED, op_token[me] >= last_token);
  last_token = op_token[me];
  if
  :: op[me] == Complete ->
     printf("owner %d has completed the item\n", me);
     demand(ONCE, completions == 0);
     completions = 1
  :: op[me] == Release ->
     printf("owner %d has released the partition\n", me);
     row_owner = NOBODY
  :: else
  fi
}

/* The token of the operation is not ours any more. The owner may have a newer one by now. */
inline forget(me) {
  if
  :: believed[me] == op_token[me] -> believed[me] = 0
  :: else
  fi
}

inline learn(me) {
  item_done[me] = (item_done[me] || op[me] == Complete)
}

inline answer(me) {
  op_token[me] = 0;
  op[me] = Write
}

/* The work, and the batches that it is written in, of one operation each. */
proctype Lane(byte me) provided (alive) {
  bool current;   /* whether the row had the operation's token */
  bool happened;  /* whether the COMMIT did */

end:
  do
  /* The owner has something to write: one thing at a time, with the token it was given. */
  :: atomic {
       believed[me] != 0 && op_token[me] == 0 ->
       op_token[me] = believed[me];
       if
       :: op[me] = Write
       :: !item_done[me] -> op[me] = Complete
       :: op[me] = Release; believed[me] = 0
       fi;
       printf("owner %d queues a write with token %d\n", me, op_token[me])
     }
  /* The lock did not come, or it waited in the queue for too long. */
  :: atomic { op_token[me] != 0 -> answer(me) }

#ifdef NO_FENCE
  :: atomic {
       op_token[me] != 0 ->
       tx[lane(me)] = Begun;
       current = (row_token == op_token[me]);
       printf("owner %d begins a batch and reads token %d\n", me, row_token)
     }
#else
#ifdef CHECK_BEFORE_LOCK
  :: atomic {
       op_token[me] != 0 ->
       current = (row_token == op_token[me]);
       printf("owner %d reads token %d\n", me, row_token)
     }
     atomic {
       row_lock == 0 ->
       row_lock = lane(me);
       tx[lane(me)] = Begun;
       printf("owner %d begins a batch and locks the row\n", me)
     }
#else
  :: atomic {
       op_token[me] != 0 && row_lock == 0 ->
       row_lock = lane(me);
       tx[lane(me)] = Begun;
       current = (row_token == op_token[me]);
       printf("owner %d begins a batch, locks the row and reads token %d\n", me, row_token)
     }
#endif
#endif

     if
     :: atomic {
          !current ->
          if
          :: row_owner == other(me) -> witness(STALE_DROP)
          :: else
          fi;
          if
          :: believed[me] > op_token[me] -> witness(OLDER_TOKEN_OF_OURS)
          :: else
          fi;
          printf("owner %d drops its write: the token is stale\n", me);
          end_tx(lane(me));
          forget(me);
          answer(me)
        }
     /* Before this step the transaction lies open for any time, past the end of the lease too. */
     :: atomic {
          current ->
          if
          :: tx[lane(me)] == Begun ->
             commit_write(me);
             happened = true
          :: else
          fi;
          end_tx(lane(me));
          current = false
        }
        /* The answer, or what was looked up where the answer was lost. */
        atomic {
          if
          :: happened -> learn(me); answer(me)
          :: !happened  /* sent again */
          /* Nobody knows: the database stays away. It is sent again, and finds the item done. */
          :: happened && !dead -> learn(me); op[me] = Write
          fi;
          happened = false
        }
     fi
  od
}

init {
  atomic {
    run Clock(1);
    run Clock(2);
    run Server(1);
    run Server(2);
    run Renewer(2);
    run Lane(2);
    run Owner(2);
    first_mortal = run Renewer(1);
    run Lane(1);
    run Owner(1)
  }
#ifdef TAKEOVER
  atomic {
    dead = true;
    printf("owner 1 dies\n")
  }
#endif
}

#ifdef TAKEOVER
/* Whatever owner 1 leaves behind when it dies, the partition becomes owner 2's. */
#define taken (row_owner == 2 || believed[2] == row_token || row_token == TOKENS)
ltl takeover { [] (dead -> <> taken) }
#endif

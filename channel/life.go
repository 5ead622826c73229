package channel

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel/approval"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/deliver"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/rest"
	"rcsupervisor/internal/lane"
	"rcsupervisor/profile"
)

// A life is a running channel. The goroutine of Run owns every field that is
// not said to be another's; whoever else has something to change says so with
// tell.
type life struct {
	env  Env
	link Link
	log  *slog.Logger
	mail *mailbox

	ctx    context.Context // ends with the life; calls made beside the loop are bound by it
	cancel context.CancelFunc
	work   sync.WaitGroup
	caught atomic.Pointer[any] // the value of a panic

	// Of use from any goroutine.
	store      *records
	tally      *tally
	talks      *conversation.Set
	owed       *deliver.Delivery
	poster     *post.Poster
	signs      *post.Signs
	desk       *approval.Desk // of agents' requests
	files      *files
	progresses progresses
	renewed    struct {
		mu sync.Mutex
		at map[string]time.Time // by conversation; bounded
	}
	intake    *intake
	hears     *hearing
	gaps      *gaps
	roster    roster
	strangers strangers
	visitors  lane.Lane[judged] // strangers the supervisor is asked about
	staff     *staff
	dirty     atomic.Bool // something is to be reported

	// Read from any goroutine, replaced whole by the loop or one who says so.
	rules     atomic.Pointer[rules]
	client    atomic.Pointer[rest.Client]
	socket    atomic.Pointer[ddp.Conn] // nil unless online
	oldTyping atomic.Bool              // the server listens to the form before 6.0
	partSize  atomic.Int64             // what the server takes as one message
	limited   atomic.Int64             // when the server last asked us to wait, Unix seconds

	profile, userID string

	resumed  chan struct{}    // closed when the last run's questions were taken over
	missing  chan struct{}    // filled by whoever reads what was missed: one at a time
	unread   []unread         // claimed by an earlier run, to be read again; with missing
	left     atomic.Bool      // something missed could not be read, and is to be asked for again
	learned  time.Time        // when the server was last asked what it is like; with missing
	catching atomic.Bool      // there is something to read
	patience *time.Timer      // of live messages that wait behind missed ones
	network  *dial.Network    // of both wires
	start    Start            // as last applied
	phase    Phase            //
	conn     *connection      // nil while there is none
	number   uint64           // of the last connection
	last     *End             // how it ended
	online   time.Time        // since when; zero unless online
	checked  time.Time        // when the server last proved the token
	username string           // of the bot, "" until it is known
	roles    []string         // likewise
	checks   *time.Timer      // of health.check
	checking map[checkup]bool // which run
	draining bool
}

// begin builds a life that is not connected yet.
func begin(ctx context.Context, e Env, start *Start, link Link) (*life, error) {
	l := &life{
		env: e, link: link, start: *start, phase: Waiting, log: logger(link),
		mail: newMailbox(), resumed: make(chan struct{}), missing: make(chan struct{}, 1),
		hears: newHearing(), gaps: newGaps(), checking: make(map[checkup]bool),
		profile: start.Profile, userID: start.Credentials.UserID,
	}
	first, err := l.newClient(&l.start)
	if err != nil {
		return nil, err
	}
	if e.Agent == nil {
		e.Agent = l.newAgent
	}
	l.env = e
	if l.staff, err = hire(e, *start, link); err != nil {
		return nil, err
	}
	store, err := e.Store(StateFile(start.Home), start.Credentials.Server+" "+start.Credentials.UserID)
	if err != nil {
		return nil, fmt.Errorf("open the store of questions: %w", err)
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.tally = newTally(l.touched)
	l.client.Store(first.client)
	l.network = first.network
	l.rules.Store(newRules(&l.start, ""))
	l.partSize.Store(conversation.PartSize)
	l.checks = time.AfterFunc(start.Settings.Health.Check, func() { l.tell(l.check) })
	l.patience = time.AfterFunc(patience, func() { l.tell(func() { l.intake.impatient() }) })
	l.patience.Stop()
	l.store = newRecords(store, l)
	l.assemble()
	return l, nil
}

// assemble puts the rooms of the house around the store.
func (l *life) assemble() {
	l.signs = &post.Signs{React: l.react, Type: l.typing, Caught: l.panicked, Log: l.log}
	l.poster = &post.Poster{
		Server: wire{l}, Self: l.userID, Log: l.log,
		// A part keeps its id for as long as the run lasts, also if the key is sealed anew.
		Key: []byte(l.start.Credentials.PostKey.Reveal()),
	}
	l.files = newFiles(l.start.Home, func() profile.Limits { return l.rules.Load().settings.Limits }, l.log)
	l.files.drop(downloadsName)
	l.progresses.life = l
	l.owed = deliver.New(deliver.Config{
		Store: l.store, Settled: l.settled, Log: l.log, Asked: l.asked, Doomed: post.Doomed, Caught: l.panicked,
		Age:    func() time.Duration { return l.rules.Load().settings.Limits.AnswerAge },
		Poster: &post.Files{Poster: l.poster, Server: wire{l}, Open: l.files.open, Uploaded: l.store.Upload},
	})
	l.desk = l.openDesk()
	l.talks = conversation.New(conversation.Config{
		Store: l.store, Owe: l.owe, Log: l.log, Prepare: l.prepare, Hire: l.staff.hire, Caught: l.panicked,
		Queue:   func() int { return l.rules.Load().settings.Limits.Queue },
		Size:    func() int { return int(l.partSize.Load()) },
		Working: func(i conversation.Item) func() { return l.signs.Show(i.Key.Room, i.Key.Thread, i.ID.Message) },
		Attend:  l.attend,
		Ended:   l.turnEnded,
	})
	l.visitors = lane.Lane[judged]{Group: &l.work, Bound: strangersAtOnce, Do: l.receive}
	l.intake = newIntake(l)
}

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/store"
	"toolsvc/tool"
)

// Clients that hand out tasks may listen to them instead of asking again and again: subscriptions/listen takes taskIds beside what the SDK
// knows, and each change of such a task is a notifications/tasks with the whole task (SEP-2663). The SDK neither reads the one nor sends the
// other, so a request that has taskIds is marked on its way in, and the notifications are written to its stream beside the SDK's own.

const (
	methodListen       = "subscriptions/listen"
	notificationAck    = "notifications/subscriptions/acknowledged"
	notificationOfTask = "notifications/tasks"
	// metaListen carries the key of a listening through the SDK. Keys cannot be guessed, and serve once.
	metaListen = "toolsvc/listening"
)

// Bounds of listening.
const (
	// maxTaskIDs bounds the tasks of one subscription; more are not acknowledged.
	maxTaskIDs = 64
	// maxListenLine bounds a request to listen on stdio, in bytes; a longer one is served without its tasks.
	maxListenLine = 128 << 10
	// taskRest is how long a task is left alone when no event tells of it; without events it is looked at every taskPoll.
	taskRest = 15 * time.Second
)

// listening is one request to listen that names tasks.
type listening struct {
	id  json.RawMessage // of the request, which is that of the subscription
	ids []string
	// send writes one message to the request's stream.
	send func(message []byte) error
	// accepted are those of the tasks that are the caller's.
	accepted []string
	acked    chan struct{} // closed when the client knows that
}

// listenings are the requests on their way through the SDK.
type listenings struct {
	mu   sync.Mutex
	open map[string]*listening
}

func (x *listenings) add(l *listening) (key string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.open) >= maxSubscriptions {
		return "", false
	}
	if x.open == nil {
		x.open = map[string]*listening{}
	}
	key = tool.NewCallID()
	x.open[key] = l
	return key, true
}

func (x *listenings) take(key string) *listening {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.open[key]
	delete(x.open, key)
	return l
}

// markListen marks a request to listen that names tasks, and notes what it asks for. Any other message stays as it is; its key is "".
func (s *Surface) markListen(text []byte, send func([]byte) error) (marked []byte, key string) {
	var r struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Notifications struct {
				TaskIDs []string `json:"taskIds"`
			} `json:"notifications"`
		} `json:"params"`
	}
	if !bytes.Contains(text, []byte(`"`+methodListen+`"`)) || json.Unmarshal(text, &r) != nil || r.Method != methodListen || len(r.Params.Notifications.TaskIDs) == 0 {
		return text, ""
	}
	key, ok := s.listens.add(&listening{id: r.ID, ids: r.Params.Notifications.TaskIDs, send: send, acked: make(chan struct{})})
	if !ok {
		return text, ""
	}
	message, _ := members(text)
	for i, m := range message {
		if m.name != "params" {
			continue
		}
		params, _ := members(m.value)
		for j, p := range params {
			if p.name == "_meta" {
				meta, _ := members(p.value)
				meta = slices.DeleteFunc(meta, func(x member) bool { return x.name == metaListen })
				params[j].value = objectOf(append(meta, member{metaListen, quote(key)}))
			}
		}
		message[i].value = objectOf(params)
	}
	return objectOf(message), key
}

// listenKey leads from the request to its listening.
var listenKey = contextKey{"listening"}

// listen is middleware that watches the tasks of a request to listen, for as long as the client listens.
func (s *Surface) listen(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		req, ok := r.(request)
		if !ok || method != methodListen {
			return next(ctx, method, r)
		}
		key, _ := r.GetParams().GetMeta()[metaListen].(string)
		l := s.listens.take(key)
		if l == nil {
			return next(ctx, method, r)
		}
		c := s.clientOf(req)
		if !c.tasks() {
			return nil, errNoTasks()
		}
		watching, stop := context.WithCancel(ctx)
		var watchers sync.WaitGroup
		for _, sealedID := range l.ids[:min(len(l.ids), maxTaskIDs)] {
			id, err := opened[taskID](s.o.Key, purposeTask, sealedID, time.Now())
			if err != nil || id.Identity != c.identity || slices.Contains(l.accepted, sealedID) {
				continue // what is not acknowledged is not served; it does not say why, so nobody can try out identifiers
			}
			l.accepted = append(l.accepted, sealedID)
			watchers.Go(func() { s.watchTask(watching, c, l, sealedID, id) })
		}
		defer watchers.Wait()
		defer stop()
		res, err := next(context.WithValue(ctx, listenKey, l), method, r)
		if err == nil && len(l.accepted) > 0 {
			<-ctx.Done() // the SDK does not wait for what it does not know
		}
		return res, err
	}
}

// listenAck is the acknowledgement of a subscription with the tasks in it.
type listenAck struct {
	sdk.ParamsBase
	Notifications struct {
		sdk.NotificationSubscriptions
		TaskIDs []string `json:"taskIds,omitempty"`
	} `json:"notifications"`
}

// acknowledge is middleware that says in the acknowledgement which tasks are watched.
func (s *Surface) acknowledge(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		l, mine := ctx.Value(listenKey).(*listening)
		params, known := r.GetParams().(*sdk.SubscriptionsAcknowledgedParams)
		session, ok := r.GetSession().(*sdk.ServerSession)
		if !mine || method != notificationAck || !known || !ok {
			return next(ctx, method, r)
		}
		ack := &listenAck{ParamsBase: sdk.ParamsBase{Meta: params.Meta}}
		ack.Notifications.NotificationSubscriptions, ack.Notifications.TaskIDs = params.Notifications, l.accepted
		res, err := next(ctx, method, &sdk.ServerRequest[*listenAck]{Session: session, Params: ack})
		if err == nil {
			close(l.acked)
		}
		return res, err
	}
}

// watchTask tells what a task is, and whenever it has become something else, until it has ended or ctx ends.
func (s *Surface) watchTask(ctx context.Context, c client, l *listening, sealedID string, id taskID) {
	select {
	case <-l.acked:
	case <-ctx.Done():
		return
	}
	rest, came := taskPoll, make(chan struct{}, 1)
	if s.o.Events != nil {
		rest = taskRest
		go s.taskEvents(ctx, id.Run, came)
	}
	var told string
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := taskLook; ; wait = min(2*wait, rest) {
		select {
		case <-ctx.Done():
			return
		case <-came:
			wait = taskLook // the state follows the event that tells of it
		case <-timer.C:
		}
		timer.Reset(wait)
		t, err := s.task(ctx, c, sealedID, id)
		var gone *jsonrpc.Error
		if errors.As(err, &gone) {
			return // its run is not kept any more
		}
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("a task that a client listens to cannot be read", "run", id.Run, "call_id", id.Call, "error", err)
			}
			continue
		}
		if now := lookOf(t); now != told {
			if err := l.tell(t); err != nil {
				s.log.Debug("a task's change does not reach a client", "run", id.Run, "call_id", id.Call, "error", err)
				return // the client has gone
			}
			told, wait = now, taskLook
		}
		if t.Status == taskCompleted || t.Status == taskFailed || t.Status == taskCancelled {
			return
		}
	}
}

// taskEvents notices that something has happened in a run.
func (s *Surface) taskEvents(ctx context.Context, run string, came chan<- struct{}) {
	for e, err := range s.o.Events.Watch(ctx, run, s.seen.after(run)) {
		if err != nil {
			s.log.Warn("events of a task do not reach its client, who hears of its changes later", "run", run, "error", err)
			return
		}
		if e.Kind == store.KindNarration {
			continue
		}
		select {
		case came <- struct{}{}:
		default: // it is being looked at
		}
	}
}

// lookOf is what clients have to be told when it changes.
func lookOf(t *taskResult) string {
	return strings.Join(append([]string{t.Status, t.StatusMessage}, slices.Sorted(maps.Keys(t.InputRequests))...), "\x00")
}

// tell writes a notification with the task as tasks/get would answer it.
func (l *listening) tell(t *taskResult) error {
	params := *t
	params.ResultType = ""
	params.Meta = sdk.Meta{sdk.MetaKeySubscriptionID: l.id}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": notificationOfTask, "params": &params})
	if err != nil {
		return fmt.Errorf("encode a task: %w", err)
	}
	return l.send(message)
}

// serveListen serves a request to listen over HTTP by the SDK's handler, with a stream that takes notifications of tasks as well.
func (s *Surface) serveListen(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "The request cannot be read, or is too large.", http.StatusRequestEntityTooLarge)
		return
	}
	stream := &eventStream{ResponseWriter: w}
	defer stream.end()
	body, key := s.markListen(body, stream.send)
	if key != "" {
		defer s.listens.take(key)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	next.ServeHTTP(stream, r)
}

// eventStream is a stream of server-sent events that several write to; the SDK writes each event at once.
type eventStream struct {
	http.ResponseWriter
	mu    sync.Mutex
	ended bool
}

var errEnded = errors.New("the stream has ended")

func (x *eventStream) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ResponseWriter.Write(p)
}

// FlushError is what http.ResponseController looks for.
func (x *eventStream) FlushError() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// Unwrap is for other controls of the connection.
func (x *eventStream) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *eventStream) send(message []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return errEnded
	}
	if _, err := fmt.Fprintf(x.ResponseWriter, "event: message\ndata: %s\n\n", message); err != nil {
		return err
	}
	return http.NewResponseController(x.ResponseWriter).Flush()
}

func (x *eventStream) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
}

// lineWriter writes whole lines from several sides.
type lineWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

func (w *lineWriter) send(message []byte) error {
	_, err := w.Write(append(slices.Clone(message), '\n'))
	return err
}

// lineReader passes lines through edit. What is longer than its buffer passes as it is.
type lineReader struct {
	io.Closer
	r    *bufio.Reader
	edit func([]byte) []byte
	rest []byte
	long bool // in the middle of a line that did not fit
}

func newLineReader(in io.ReadCloser, edit func([]byte) []byte) *lineReader {
	return &lineReader{Closer: in, r: bufio.NewReaderSize(in, maxListenLine), edit: edit}
}

func (x *lineReader) Read(p []byte) (int, error) {
	if len(x.rest) == 0 {
		line, err := x.r.ReadSlice('\n')
		within := x.long
		x.long = errors.Is(err, bufio.ErrBufferFull)
		if err == nil && !within {
			line = x.edit(line)
		}
		if len(line) == 0 {
			return 0, err
		}
		x.rest = line
	}
	n := copy(p, x.rest)
	x.rest = x.rest[n:]
	return n, nil
}

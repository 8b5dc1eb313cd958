package planner

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/mocks"
)

// Temporal gives a query up when the worker that it asked dies. Another one answers it; a query that the caller gave up is not asked again.
func TestQueryIsAskedAgain(t *testing.T) {
	t.Parallel()
	value := &mocks.Value{}
	value.On("Get", mock.Anything).Run(func(a mock.Arguments) { *a.Get(0).(*State) = State{RunID: "r_1"} }).Return(nil)
	c := &mocks.Client{}
	c.On("QueryWorkflow", mock.Anything, "r_1", "", QueryState).Return(nil, context.Canceled).Once()
	c.On("QueryWorkflow", mock.Anything, "r_1", "", QueryState).Return(nil, serviceerror.NewCanceled("the worker is gone")).Once()
	c.On("QueryWorkflow", mock.Anything, "r_1", "", QueryState).Return(value, nil).Once()
	if st, err := (&Service{Client: c}).State(t.Context(), "r_1"); err != nil || st.RunID != "r_1" {
		t.Errorf("%+v, %v", st, err)
	}
	c.AssertExpectations(t)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c = &mocks.Client{}
	c.On("QueryWorkflow", mock.Anything, "r_1", "", QueryState).Return(nil, context.Canceled).Once()
	if _, err := (&Service{Client: c}).State(gone, "r_1"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	c = &mocks.Client{}
	c.On("QueryWorkflow", mock.Anything, "r_1", "", QueryState).Return(nil, serviceerror.NewUnavailable("down")).Once()
	if _, err := (&Service{Client: c}).State(t.Context(), "r_1"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

package temporalserver

import (
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// tuning is the dynamic configuration of the embedded server. The defaults are made for clusters under shared load; on one machine they
// only add waiting: a workflow of one activity takes 100 to 150 ms with them, and about 20 ms with these.
func tuning() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// Queue processors look for work as soon as it is there. The defaults (20 looks a second) are most of the latency.
		dynamicconfig.TransferProcessorMaxPollRPS.Key():   1000,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():      1000,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 1000,
		dynamicconfig.OutboundProcessorMaxPollRPS.Key():   1000,
		// Timers look this far ahead, so a shorter one fires late by it. The default is 1 s: a back-off of 50 ms would take 1 s.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,
		// A caller that waits for a result sometimes misses the event that ends the wait, and then sits out this interval (default 20 s).
		dynamicconfig.HistoryLongPollExpirationInterval.Key(): time.Second,
		// One partition per task queue: with the default four, tasks and pollers have to find each other first.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

		// Rate limits guard clusters against tenants. Here the database's single connection is the only limit, and it queues.
		dynamicconfig.FrontendRPS.Key():                                  20000,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():           20000,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 200,
		dynamicconfig.MatchingRPS.Key():                                  20000,
		dynamicconfig.HistoryRPS.Key():                                   20000,
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                    20000,
		dynamicconfig.MatchingPersistenceMaxQPS.Key():                    20000,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                     40000,
		dynamicconfig.WorkerPersistenceMaxQPS.Key():                      2000,

		// Calls of one run queue up inside its workflow; the default admits 10 of them at a time. Clusters elsewhere keep their own limit.
		dynamicconfig.WorkflowExecutionMaxInFlightUpdates.Key(): 500,
		// One database connection cannot feed the default 512 workers per queue; idle, they are 2,000 goroutines. Nothing is replicated.
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key():               64,
		dynamicconfig.TimerProcessorSchedulerWorkerCount.Key():                  64,
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key():             32,
		dynamicconfig.ReplicationProcessorSchedulerWorkerCount.Key():            1,
		dynamicconfig.ReplicationLowPriorityProcessorSchedulerWorkerCount.Key(): 1,
		// The default cache is sized for a cluster's memory. A run takes about 45 KiB of it, also when it has ended, until it is an hour old or others
		// need the room; at most 256 calls are under way at once.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 1024,
		// Connections do not need rebalancing between hosts, and a reconnection every five minutes is a hiccup.
		dynamicconfig.KeepAliveMaxConnectionAge.Key(): 24 * time.Hour,
		// The server would report its version to its maker otherwise.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
}

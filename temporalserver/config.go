package temporalserver

import (
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

const (
	clusterName = "active"
	// clusterID is any UUID: it tells clusters apart that replicate to each other, which this one never does.
	clusterID = "6f2a0d5e-0c1b-4b7e-9d3e-7a1c5b9e2f10"
	// historyShards is fixed when the database is made. One is enough: SQLite has one writer anyway.
	historyShards = 1
	// joinWithin bounds the start of the services; the server allows itself twice this.
	joinWithin = 15 * time.Second
	storeName  = "sqlite"
)

// sqlConfig is the server's way to the database. All its services share one connection, because with more SQLite answers SQLITE_BUSY.
func sqlConfig(db database) *config.SQL {
	return &config.SQL{
		PluginName:        sqliteplugin.PluginName,
		DatabaseName:      db.uriPath(),
		MaxConns:          1,
		MaxIdleConns:      1,
		ConnectAttributes: db.attributes(),
	}
}

// serverConfig is the static configuration of a cluster of one.
func serverConfig(sql *config.SQL, p ports) *config.Config {
	service := func(port int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
	}
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: joinWithin, BroadcastAddress: loopback}},
		Persistence: config.Persistence{
			DefaultStore: storeName, VisibilityStore: storeName, NumHistoryShards: historyShards,
			DataStores: map[string]config.DataStore{storeName: {SQL: sql}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
				Enabled: true, InitialFailoverVersion: 1, RPCAddress: hostPort(p.frontend), ClusterID: clusterID,
			}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(p.frontend),
			string(primitives.HistoryService):  service(p.history),
			string(primitives.MatchingService): service(p.matching),
			string(primitives.WorkerService):   service(p.worker),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
		}},
		PublicClient: config.PublicClient{HostPort: hostPort(p.frontend)},
	}
}

// hosts tells every service where the others are, instead of a membership protocol.
func hosts(p ports) map[primitives.ServiceName]static.Hosts {
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(hostPort(p.frontend)),
		primitives.HistoryService:  static.SingleLocalHost(hostPort(p.history)),
		primitives.MatchingService: static.SingleLocalHost(hostPort(p.matching)),
		primitives.WorkerService:   static.SingleLocalHost(hostPort(p.worker)),
	}
}

package temporalserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute/sadefs"
	"go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ensureNamespace creates the namespace, or gives an existing one the search attributes that it lacks and the retention asked for.
//
// It writes to the database before the server starts, and not through the running server: a running server caches namespaces for two
// seconds, in which it would refuse workflows that use a new attribute.
func ensureNamespace(ctx context.Context, cfg *config.SQL, name string, attributes map[string]enums.IndexedValueType, retention time.Duration) error {
	db, err := temporalsql.NewSQLDB(sqlplugin.DbKindMain, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("open the database for namespace %q: %w", name, err)
	}
	tx, err := db.BeginTx(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("prepare namespace %q: %w", name, err), db.Close())
	}
	if err = writeNamespace(ctx, tx, name, attributes, retention); err != nil {
		err = errors.Join(fmt.Errorf("prepare namespace %q: %w", name, err), tx.Rollback())
	} else if err = tx.Commit(); err != nil {
		err = fmt.Errorf("prepare namespace %q: %w", name, err)
	}
	return errors.Join(err, db.Close())
}

func writeNamespace(ctx context.Context, tx sqlplugin.Tx, name string, attributes map[string]enums.IndexedValueType, retention time.Duration) error {
	version, err := tx.LockNamespaceMetadata(ctx)
	if err != nil {
		return err
	}
	serializer := serialization.NewSerializer()
	rows, err := tx.SelectFromNamespace(ctx, sqlplugin.NamespaceFilter{Name: &name})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		fresh, err := sqlite.NewNamespaceConfig(clusterName, name, false, nil)
		if err != nil {
			return err
		}
		fresh.Detail.Config.Retention = durationpb.New(DefaultRetention)
		if _, err := updateDetail(fresh.Detail, attributes, retention); err != nil {
			return err
		}
		blob, err := serializer.NamespaceDetailToBlob(fresh.Detail)
		if err != nil {
			return err
		}
		id, err := primitives.ParseUUID(fresh.Detail.GetInfo().GetId())
		if err != nil {
			return err
		}
		_, err = tx.InsertIntoNamespace(ctx, &sqlplugin.NamespaceRow{ID: id, Name: name, Data: blob.GetData(),
			DataEncoding: blob.GetEncodingType().String(), NotificationVersion: version.NotificationVersion})
		if err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		row := rows[0]
		detail, err := serializer.NamespaceDetailFromBlob(persistence.NewDataBlob(row.Data, row.DataEncoding))
		if err != nil {
			return err
		}
		changed, err := updateDetail(detail, attributes, retention)
		if err != nil || !changed {
			return err
		}
		blob, err := serializer.NamespaceDetailToBlob(detail)
		if err != nil {
			return err
		}
		row.Data, row.DataEncoding, row.NotificationVersion = blob.GetData(), blob.GetEncodingType().String(), version.NotificationVersion
		if _, err = tx.UpdateNamespace(ctx, &row); err != nil {
			return err
		}
	}
	_, err = tx.UpdateNamespaceMetadata(ctx, &sqlplugin.NamespaceMetadataRow{NotificationVersion: version.NotificationVersion})
	return err
}

// updateDetail brings a namespace's description to what is wanted, and reports whether that changed it.
func updateDetail(detail *persistencespb.NamespaceDetail, attributes map[string]enums.IndexedValueType, retention time.Duration) (bool, error) {
	changed := false
	if retention > 0 && detail.Config.GetRetention().AsDuration() != retention {
		detail.Config.Retention = durationpb.New(retention)
		changed = true
	}
	columns, err := assignColumns(detail.Config.GetCustomSearchAttributeAliases(), attributes)
	if err != nil {
		return false, err
	}
	if !maps.Equal(columns, detail.Config.GetCustomSearchAttributeAliases()) {
		detail.Config.CustomSearchAttributeAliases = columns
		changed = true
	}
	return changed, nil
}

// assignColumns gives each wanted attribute one of the visibility table's preallocated columns (Keyword01, Bool02 …), keeping what is
// assigned already. The maps go from column to attribute. Columns are given in the order of the attributes' names, so the same wish
// always has the same outcome.
func assignColumns(assigned map[string]string, attributes map[string]enums.IndexedValueType) (map[string]string, error) {
	types := sadefs.GetDBIndexSearchAttributes(nil).GetCustomSearchAttributes()
	result := maps.Clone(assigned)
	if result == nil {
		result = map[string]string{}
	}
	columnOf := map[string]string{}
	for column, attribute := range result {
		columnOf[attribute] = column
	}
	for _, attribute := range slices.Sorted(maps.Keys(attributes)) {
		want := attributes[attribute]
		if column, ok := columnOf[attribute]; ok {
			if types[column] != want {
				return nil, fmt.Errorf("search attribute %s exists as a %s and is wanted as a %s, and a type cannot be changed: use another namespace", attribute, types[column], want)
			}
			continue
		}
		free := ""
		for _, column := range slices.Sorted(maps.Keys(types)) {
			if _, taken := result[column]; !taken && types[column] == want {
				free = column
				break
			}
		}
		if free == "" {
			return nil, fmt.Errorf("no room for search attribute %s: all columns of type %s are taken", attribute, want)
		}
		result[free] = attribute
	}
	return result, nil
}

package rueidis_test

import (
	"context"
	"fmt"
	"log"
	"time"

	client "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

func ExampleNew() {
	c, err := client.NewClient(client.ClientOption{InitAddress: []string{"localhost:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	m, err := proxy.NewManager(rueidis.New(c))
	if err != nil {
		log.Fatal(err)
	}
	limit := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(100, bandwidth.Greedy(100, time.Minute))))
	probe, err := m.Bucket("user:42", limit).Consume(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(probe.Consumed, probe.RemainingTokens)
}

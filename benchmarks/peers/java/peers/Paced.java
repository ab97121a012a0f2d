package peers;

import static java.util.stream.Collectors.joining;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;

/**
 * Messages at a fixed rate, whatever becomes of them, and how long each is under way: peers.Paced
 * PEER PORT MODE QUEUE PUTTERS RATE WARM_UP SECONDS.
 *
 * <p>PEER: artemis or rabbitmq. MODE: ahead to be sent messages ahead; asked to ask for each one, in
 * a transaction. RATE: messages a second; 0 for as many as the putters can. Each putter has a thread
 * and a connection, and waits until its message is kept; one more thread gets. A body begins with
 * the time when it was due, so that a message which was put late, because the one before took long,
 * counts as late. It puts and gets as fast as it can to warm up, prints "ready", waits for a line,
 * works, and prints what it did as JSON.
 */
public final class Paced {
  /** Messages that are sent ahead. */
  private static final int AHEAD = 8;

  /** If nothing comes for so long after the last put, everything was got. */
  private static final int QUIET_MS = 500;

  private static final long BEFORE_NS = 20_000_000;

  private final String peer;
  private final int port;
  private final boolean ahead;
  private final String queue;
  private final List<Client> putters = new ArrayList<>();
  private Client getter;

  private Paced(String[] given) {
    peer = given[0];
    port = Integer.parseInt(given[1]);
    ahead = given[2].equals("ahead");
    queue = given[3];
  }

  /** See above. */
  public static void main(String[] given) throws Exception {
    var paced = new Paced(given);
    double rate = Double.parseDouble(given[5]);
    double warmUp = Double.parseDouble(given[6]);
    double seconds = Double.parseDouble(given[7]);
    try (Client client = paced.connected(false)) {
      client.delete();
    }
    for (int i = 0; i < Integer.parseInt(given[4]); i++) {
      paced.putters.add(paced.connected(false));
    }
    paced.getter = paced.connected(!paced.ahead);
    if (warmUp > 0) {
      paced.pass(0, warmUp);
    }
    System.out.println("ready");
    new BufferedReader(new InputStreamReader(System.in)).readLine();
    System.out.println("[" + paced.pass(rate, seconds) + "]");
    System.exit(0);
  }

  private Client connected(boolean transacted) throws Exception {
    if (peer.equals("artemis")) {
      return new ArtemisClient(port, queue, ahead, transacted);
    }
    return new RabbitClient(port, queue, AHEAD, 1);
  }

  private String pass(double rate, double seconds) throws Exception {
    long began = System.nanoTime() + BEFORE_NS;
    long until = began + (long) (seconds * 1e9);
    var threads = new ArrayList<Thread>();
    var put = new AtomicInteger();
    for (int number = 0; number < putters.size(); number++) {
      double every = rate > 0 ? 1e9 * putters.size() / rate : 0;
      long first = began + (long) (every * number / putters.size());
      Client client = putters.get(number);
      threads.add(new Thread(() -> put.addAndGet(put(client, first, until, every))));
    }
    threads.forEach(Thread::start);
    var took = LongStream.builder();
    int inTime = 0;
    while (true) {
      byte[] body = getter.receive(QUIET_MS);
      if (body != null) {
        long now = System.nanoTime();
        took.add(now - ByteBuffer.wrap(body).getLong());
        inTime += now <= until ? 1 : 0;
        getter.acknowledge();
      } else if (threads.stream().noneMatch(Thread::isAlive)) {
        break;
      }
    }
    String ms = took.build().mapToObj(ns -> String.valueOf(ns / 1e6)).collect(joining(","));
    return work(put.get(), seconds, "") + "," + work(inTime, seconds, ms);
  }

  private static String work(int count, double seconds, String ms) {
    return String.format(
        "{\"count\":%d,\"seconds\":%s,\"put_commit_ms\":[],\"put_to_get_ms\":[%s]}",
        count, seconds, ms);
  }

  /** Put what is due until it is over; how many. every: 0 for one after the other. */
  private static int put(Client client, long first, long until, double every) {
    byte[] body = new byte[Client.BODY.length];
    try {
      for (int count = 0; ; count++) {
        long due = every > 0 ? first + (long) (every * count) : System.nanoTime();
        if (due >= until) {
          return count;
        }
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        ByteBuffer.wrap(body).putLong(due);
        client.putOne(body);
      }
    } catch (Exception problem) {
      problem.printStackTrace();
      System.exit(1);
      return 0;
    }
  }
}

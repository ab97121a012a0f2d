import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.avro.Schema;
import com.fasterxml.jackson.databind.ObjectMapper;

/** Writes what Schema.toString() makes of each line, a schema as a string of JSON; null if refused. */
public final class Schemas {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String made = null;
      try {
        made = new Schema.Parser().parse(json.readValue(line, String.class)).toString();
      } catch (RuntimeException refused) {
        made = null;
      }
      out.println(json.writeValueAsString(made));
    }
    out.flush();
  }
}

package headrace.oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;

/** Runs every case on Flink, one after the other, and writes what it gave as JSON. */
public final class Record {

    private Record() {}

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        Files.createDirectories(folder);
        List<Case> cases =
                Stream.of(Evictors.CASES, Triggers.CASES, Joins.CASES, Times.CASES, Sums.CASES)
                        .flatMap(List::stream)
                        .toList();
        for (Case one : cases) {
            write(folder.resolve(one.name() + ".json"), one.name(), results(one));
            System.out.println(one.name());
        }
    }

    private static List<String> results(Case one) throws Exception {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(1, new Configuration());
        List<String> results = new ArrayList<>();
        try (CloseableIterator<String> iterator = one.program().build(env).executeAndCollect()) {
            iterator.forEachRemaining(results::add);
        }
        return results;
    }

    private static void write(Path file, String name, List<String> results) throws IOException {
        String head = "{\n \"case\": \"%s\",\n \"flink\": \"%s\",\n \"results\": ["
                .formatted(name, EnvironmentInformation.getVersion());
        String body = results.isEmpty() ? "" : "\n  " + String.join(",\n  ", results) + "\n ";
        Files.writeString(file, head + body + "]\n}\n");
    }
}

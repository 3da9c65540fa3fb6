package headrace.oracle;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** One small program; each of its results is a text of JSON. */
public record Case(String name, Program program) {

    /** Builds the stream whose results are recorded. */
    public interface Program {
        DataStream<String> build(StreamExecutionEnvironment env);
    }
}

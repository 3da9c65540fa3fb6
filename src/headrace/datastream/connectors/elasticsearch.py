"""Elasticsearch: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the Elasticsearch connector is not part of this release"

FlushBackoffType = unsupported(f"{__name__}.FlushBackoffType", _REASON)
ElasticsearchEmitter = unsupported(f"{__name__}.ElasticsearchEmitter", _REASON)
ElasticsearchSinkBuilderBase = unsupported(f"{__name__}.ElasticsearchSinkBuilderBase", _REASON)
Elasticsearch6SinkBuilder = unsupported(f"{__name__}.Elasticsearch6SinkBuilder", _REASON)
Elasticsearch7SinkBuilder = unsupported(f"{__name__}.Elasticsearch7SinkBuilder", _REASON)
ElasticsearchSink = unsupported(f"{__name__}.ElasticsearchSink", _REASON)

"""Elasticsearch: there is no such connector; each name says so when it is used."""

from headrace.common._unsupported import unsupported

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
    "FlushBackoffType",
]

_REASON = "there is no Elasticsearch connector"

FlushBackoffType = unsupported(f"{__name__}.FlushBackoffType", _REASON)
ElasticsearchEmitter = unsupported(f"{__name__}.ElasticsearchEmitter", _REASON)
ElasticsearchSinkBuilderBase = unsupported(f"{__name__}.ElasticsearchSinkBuilderBase", _REASON)
Elasticsearch6SinkBuilder = unsupported(f"{__name__}.Elasticsearch6SinkBuilder", _REASON)
Elasticsearch7SinkBuilder = unsupported(f"{__name__}.Elasticsearch7SinkBuilder", _REASON)
ElasticsearchSink = unsupported(f"{__name__}.ElasticsearchSink", _REASON)

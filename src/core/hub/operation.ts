/** What a model is asked to do, as named in the ledger, metrics and limits. */
export type Operation =
  | 'chat'
  | 'completions'
  | 'embeddings'
  | 'moderations'
  | 'rerank'
  | 'images'
  | 'speech'
  | 'transcriptions'
  | 'count-tokens'
  /** A request about stored files or batches: no work of a model by itself. */
  | 'files'
  /** A request of a vendor's path that the gateway does not know. */
  | 'pass-through'
  /** The work of a batch, settled when it has ended. */
  | 'batches'
  /** A call of a tool at a tool server. */
  | 'tools'

/** How a call ended, from the client's side. */
export type Outcome = 'success' | 'error' | 'client_closed' | 'upstream_cut' | 'interrupted'

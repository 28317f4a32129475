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
  /** Files and batches: forwarded without a model. */
  | 'files'
  | 'batches'

/** How a call ended, from the client's side. */
export type Outcome = 'success' | 'error' | 'client_closed' | 'upstream_cut' | 'interrupted'

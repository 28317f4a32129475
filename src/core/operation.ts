/** What a model is asked to do; the ledger, metrics and limits call it so. */
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
  /** Files and batches: forwarded, and no model's work by themselves. */
  | 'files'
  | 'batches'

/** How a call ended, from the client's side. */
export type Outcome = 'success' | 'error' | 'client_closed' | 'upstream_cut' | 'interrupted'

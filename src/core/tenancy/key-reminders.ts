/** Interface of the store that knows which keys soon end, or soon have to be replaced. */

/** A key that a reminder is due for. */
export interface KeyReminder {
  /** `expiry` = it ends; `rotation`, `age` = its text has to be replaced, by its own interval or by the maximum age. */
  readonly kind: 'expiry' | 'rotation' | 'age'
  readonly keyId: string
  readonly alias: string | null
  /** `sk-...` and the last four characters. */
  readonly hint: string
  readonly userId: string | null
  readonly teamId: string | null
  /** Of its user. */
  readonly email: string | null
  /** When it ends or has to be replaced, milliseconds since 1970. */
  readonly dueMs: number
  /** How long before that this reminder is given; 0 = when it has come. */
  readonly stageMs: number
}

/** Which keys are requested. Moments are milliseconds since 1970. */
export interface KeyReminderQuery extends Pick<KeyReminder, 'kind' | 'stageMs'> {
  /** The moment is after this one ... */
  readonly fromMs: number
  /** ... and not after this one. */
  readonly toMs: number
  /** Of the kind `age`. */
  readonly maxAgeMs?: number
}

/** Rejects when the database does not answer. */
export interface KeyReminderStore {
  /** Fills in what programs of before have left out, and forgets what is long over. */
  prepare(nowMs: number): Promise<void>
  /** At most 200 that no replica has claimed yet, those first whose moment comes first. They are claimed now. */
  claim(query: KeyReminderQuery): Promise<KeyReminder[]>
}

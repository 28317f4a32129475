/** What a check of `modelgate doctor` has found. */
export interface Finding {
  /** What was looked at: `database`. */
  readonly about: string
  /** `problem` = it does not work, or will not; `warning` = it works, and an operator should look. */
  readonly state: 'ok' | 'warning' | 'problem'
  readonly message: string
  /** What to do; absent where all is well. */
  readonly remedy?: string
}

/** All is well. */
export const fine = (about: string, message: string): Finding => ({ about, state: 'ok', message })
/** It works, and an operator should look. */
export const warning = (about: string, message: string, remedy: string): Finding => ({
  about,
  state: 'warning',
  message,
  remedy,
})
/** It does not work. */
export const problem = (about: string, message: string, remedy: string): Finding => ({
  about,
  state: 'problem',
  message,
  remedy,
})

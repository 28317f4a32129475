/** Environment variables by name; an empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>

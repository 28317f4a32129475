/** The paths under which OpenAI's clients look for stored objects. */
export const pathsOf = (rest: string): string[] => [rest, `/v1${rest}`, `/openai/v1${rest}`]

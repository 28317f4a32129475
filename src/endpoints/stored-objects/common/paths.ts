/** The paths under which OpenAI's and Azure's clients look for stored objects; Azure's dated versions have no `/v1`. */
export const pathsOf = (rest: string): string[] => [rest, `/v1${rest}`, `/openai/v1${rest}`, `/openai${rest}`]

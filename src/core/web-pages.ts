/** The pages for people, as an endpoint serves them. Implemented by `endpoints/common/built-pages.ts`. */
import type { HttpRequest } from './request.ts'

/** Whether the pages for people can be served, and why not. */
export type PagesState =
  | { readonly state: 'ready' | 'making' | 'absent' }
  | { readonly state: 'failed'; readonly why: string }

/** The built pages. `html` and `file` may only be asked once the state is `ready`. */
export interface WebPages {
  state(): PagesState
  /** The page at `path` below `/ui/`, whose relative addresses start from `base`. */
  html(base: string, path: string): string
  /** Bytes that never change with their headers, compressed where the client takes it; undefined = no such file. */
  file(
    name: string,
    request: Pick<HttpRequest, 'headers'>,
  ): { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> } | undefined
}

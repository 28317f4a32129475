import { useCallback, useEffect, useRef, useState } from 'react'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../chat.page.ts'
import { filesMax, kindOf, problemOf } from './files.ts'
import type { ChosenFile } from './files.ts'

/** The files of the next question. */
export function useFiles() {
  const [files, setFiles] = useState<readonly ChosenFile[]>([])
  const shown = useRef(files)
  shown.current = files
  useEffect(() => () => release(shown.current), [])
  const add = useCallback((given: Iterable<File>) => {
    const problems: string[] = []
    const added: ChosenFile[] = []
    for (const file of given) {
      const problem =
        shown.current.length + added.length >= filesMax ? t('chat.fileCount', { most: filesMax }) : problemOf(file)
      if (problem !== null) problems.push(problem)
      else added.push(chosen(file))
    }
    if (problems.length > 0)
      toast(t('chat.fileRefused'), { description: [...new Set(problems)].join(' '), kind: 'error' })
    setFiles(before => [...before, ...added])
  }, [])
  const remove = (key: string) => {
    release(files.filter(one => one.key === key))
    setFiles(before => before.filter(one => one.key !== key))
  }
  const clear = () => {
    release(files)
    setFiles([])
  }
  return { files, add, remove, clear }
}

let count = 0

function chosen(file: File): ChosenFile {
  const kind = kindOf(file)!
  count += 1
  return { key: String(count), file, kind, preview: kind === 'image' ? URL.createObjectURL(file) : null }
}

function release(files: readonly ChosenFile[]): void {
  for (const { preview } of files) if (preview !== null) URL.revokeObjectURL(preview)
}

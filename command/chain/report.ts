/** How a chain's workers report to the operator. */

/** `note`: for information. `trouble`: the worker retries or works around it. `alarm`: somebody must look. Texts never contain secrets. */
export type Report = (level: 'note' | 'trouble' | 'alarm', text: string) => void;

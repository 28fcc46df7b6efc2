import { Empty } from "../../parts/empty.tsx";
import "./processes.css";

export function Processes() {
  return <Empty title="Processes" />;
}
